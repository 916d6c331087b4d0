"""The advisor as a local web page and HTTP API: one process talks, worker processes plan.

`app` has the addresses, `schema` what requests hold, `sources` what a request may name, `pool` and `worker` the
processes with their limits, `tasks` what each address computes, `border` what is refused before anything is read.
Nothing here is needed to plan: it comes with the extra `rhoplan[serve]`.
"""

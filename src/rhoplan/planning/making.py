"""How Numba makes machine code of kernels: of each entrance at once, with all the kernels that it calls.

Left to itself Numba optimises a kernel, and makes machine code of it, once by itself and once more for every kernel
that calls it; and it keeps each as others may call it, with every number of every array of every record it is given
(some four hundred) handed over, used or not. Here a kernel that kernels call is only translated, and the whole of an
entrance is optimised once, with nothing in it that others could call. That took three quarters of the time, for code
that runs in four fifths of it. (One that another program has translated is read from where it is kept as any library
of Numba's, which does make machine code of it: still sooner than to translate it again.) Kernels must not call each
other in a circle; one may call itself.
"""

from __future__ import annotations

from typing import Any

from llvmlite.binding import Linkage
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import AnnotateTypes

ENVIRONMENT = "_ZN08NumbaEnv"
"""How the names begin under which machine code finds what belongs to the Python function it was made of."""

STEPS = (
    "enable_object_caching", "serialize_using_bitcode", "serialize_using_object_code",
    "_finalize_dynamic_globals", "_finalize_final_module", "_optimize_final_module",
)  # fmt: skip
"""What is changed or used here of Numba's libraries, which promise it to nobody."""

for _step in STEPS:
    if not hasattr(JITCodeLibrary, _step):
        raise ImportError(f"Numba's libraries have no {_step}")


class Part(JITCodeLibrary):  # type: ignore[misc]
    """A kernel as other kernels take it in: translated, not optimised, and of no use by itself."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> Part:
        return self

    def set_env(self, name: str, env: Any) -> None:
        """There is no code yet that would ask for it."""

    def serialize_using_object_code(self) -> Any:
        return self.serialize_using_bitcode()


class Whole(JITCodeLibrary):  # type: ignore[misc]
    """A kernel that Python calls, and all that it calls, which is its own."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        for variable in self._final_module.global_variables:
            environment = lookup_environment(variable.name) if variable.name.startswith(ENVIRONMENT) else None
            if environment is not None:
                self._codegen.set_env(variable.name, environment)


class Begin(AnalysisPass):  # type: ignore[misc]
    """Says what the code is to become, before there is any."""

    library: type[JITCodeLibrary]

    def __init__(self) -> None:
        pass

    def run_pass(self, state: Any) -> bool:
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class BeginPart(Begin):
    _name, library = "begin_part", Part


@register_pass(mutates_CFG=False, analysis_only=True)
class BeginWhole(Begin):
    _name, library = "begin_whole", Whole


class MakeWhole(CompilerBase):  # type: ignore[misc]
    """The steps of making machine code for Python to call."""

    begin = BeginWhole

    def define_pipelines(self) -> list[Any]:
        steps = DefaultPassBuilder.define_nopython_pipeline(self.state)
        steps.add_pass_after(self.begin, AnnotateTypes)
        steps.finalize()
        return [steps]


class MakePart(MakeWhole):
    """The same for kernels to call."""

    begin = BeginPart

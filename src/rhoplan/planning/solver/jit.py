"""How kernels are compiled: an entry point together with all the kernels that it calls.

By itself Numba optimises every kernel and makes machine code of it, once alone and once more for each kernel that
calls it: for the search that takes four times as long. Here a kernel is only translated, and an entry point is
optimised once, as a whole, and cached on disk. Sums may be taken in any order: the outward rounding of every backup
pays for that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

from llvmlite.binding import Linkage
from numba import njit
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.environment import lookup_environment
from numba.core.typed_passes import AnnotateTypes
from numba.core.types.misc import unliteral

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Let entry points and other kernels call `function`. Python cannot call it."""
    compiled: Any = njit(no_cpython_wrapper=True, pipeline_class=_TranslateOnly, **FLAGS)(function)
    usual = compiled.get_call_template

    def get_call_template(arguments: Any, keywords: Any) -> Any:
        """Do not translate the kernel once more for each constant that it is called with."""
        return usual(tuple(map(unliteral, arguments)), {name: unliteral(one) for name, one in keywords.items()})

    compiled.get_call_template = get_call_template
    result: Function = compiled
    return result


def entry_point(function: Function) -> Function:
    """Let Python call `function`, which is compiled on its first call."""
    function.__qualname__ += f"_{_version():08x}"  # Numba looks at the file of an entry point alone
    compiled: Function = njit(cache=True, pipeline_class=_CompileWhole, **FLAGS)(function)
    return compiled


@cache
def _version() -> int:
    """A number that changes with the sources of this package."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return crc32(repr([(path.name, path.stat().st_mtime_ns, path.stat().st_size) for path in sources]).encode())


class _Translated(JITCodeLibrary):  # type: ignore[misc]
    """Code that entry points take in: not optimised, and not executable."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        return 0

    @property
    def codegen(self) -> _Translated:
        return self

    def set_env(self, name: str, env: Any) -> None:
        """Nothing is executed that would need it."""


class _Whole(JITCodeLibrary):  # type: ignore[misc]
    """An entry point and all that it calls, which nobody else can call."""

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
        super()._optimize_final_module()

    def _finalize_final_module(self) -> None:
        super()._finalize_final_module()
        for variable in self._final_module.global_variables:
            if variable.name.startswith("_ZN08NumbaEnv"):
                environment = lookup_environment(variable.name)
                if environment is not None:
                    self._codegen.set_env(variable.name, environment)


@register_pass(mutates_CFG=False, analysis_only=True)
class _UseTranslated(AnalysisPass):  # type: ignore[misc]
    _name = "rhoplan_use_translated"
    library: type[JITCodeLibrary] = _Translated

    def __init__(self) -> None:
        pass

    def run_pass(self, state: Any) -> bool:
        state.library = self.library(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return False


@register_pass(mutates_CFG=False, analysis_only=True)
class _UseWhole(_UseTranslated):
    _name, library = "rhoplan_use_whole", _Whole


class _TranslateOnly(CompilerBase):  # type: ignore[misc]
    first_pass = _UseTranslated

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(self.first_pass, AnnotateTypes)
        passes.finalize()
        return [passes]


class _CompileWhole(_TranslateOnly):
    first_pass = _UseWhole


FLAGS: dict[str, Any] = {
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "nsz"},
    "_nrt": False,  # kernels allocate nothing
    "no_cfunc_wrapper": True,
}

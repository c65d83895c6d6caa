"""How numba compiles our loops: its own pipeline less what they have no use for.

A loop that only kernels call becomes machine code with each of them. On its own it is typed and
lowered, once, and linked into its callers as it is: numba would also optimise it and generate its
machine code, which nobody calls. The passes left out concern with-blocks, closures and literal
types.
"""

from __future__ import annotations

from typing import Any

from numba import _dynfunc
from numba.core import typed_passes, untyped_passes
from numba.core.codegen import CPUCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering

__all__ = ["Callee", "Lean"]

NOT_NEEDED = {
    untyped_passes.WithLifting,
    untyped_passes.InlineClosureLikes,
    untyped_passes.DeadBranchPrune,
    untyped_passes.RewriteDynamicRaises,
    untyped_passes.MakeFunctionToJitFunction,
    untyped_passes.InlineInlinables,
    untyped_passes.FindLiterallyCalls,
    untyped_passes.LiteralUnroll,
    untyped_passes.LiteralPropagationSubPipelinePass,
    typed_passes.InlineOverloads,
}


class Lean(CompilerBase):  # type: ignore[misc]
    """The pipeline of a kernel."""

    lowering: Any = NativeLowering

    def define_pipelines(self) -> list[PassManager]:
        """Numba's pipeline, shorter."""
        usual = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes = PassManager("kernel")
        for one, why in usual.passes:
            if one not in NOT_NEEDED:
                passes.add_pass(self.lowering if one is NativeLowering else one, why)
        passes.finalize()
        return [passes]


class _Linked(CPUCodeLibrary):  # type: ignore[misc]
    """Code that is linked into that of its callers and has no machine code of its own."""

    def finalize(self) -> None:
        """Link in what it calls itself."""
        for library in dict.fromkeys(self._linking_libraries):
            code = library._get_module_for_linking()  # noqa: SLF001 - its own kind
            self._final_module.link_in(code, preserve=True)
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _LinkedLowering(NativeLowering):  # type: ignore[misc]
    """Lower a function for its callers alone."""

    _name = "linked_lowering"

    def run_pass(self, state: Any) -> bool:
        """As for any other function, but for machine code and a door to Python."""
        state.library = _Linked(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        made, name = state.cr, state.func_id.func_name
        door = _dynfunc.make_function(
            made.fndesc.lookup_module(), name, "linked", 0, made.env, (state.library,)
        )
        state.targetctx.insert_user_function(door, made.fndesc, [state.library])
        state.cr = _LowerResult(made.fndesc, made.call_helper, cfunc=door, env=made.env)
        return True


class Callee(Lean):
    """The pipeline of a loop that only kernels call."""

    lowering = _LinkedLowering

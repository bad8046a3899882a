"""What hatchling calls to compile the kernels, for wheels and for editable installations."""

import sys
import sysconfig
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Kernels(BuildHookInterface[Any]):
    """Compiles the kernels and takes them into the wheel, which is then for one type of machine."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Before files are collected."""
        root = Path(self.root)
        libraries = self._builder().build_all(root / "pipeline")
        build_data["artifacts"] += [f"/{path.relative_to(root)}" for path in libraries]
        build_data["pure_python"] = False
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"

    def dependencies(self) -> list[str]:
        """What to install in order to build: a compiler, where there is none."""
        if any(self._builder().compilers()):
            return []
        return ["ziglang>=0.14"]

    def _builder(self) -> ModuleType:
        if self.root not in sys.path:
            sys.path.insert(0, self.root)
        from tools import build_kernels

        return build_kernels

"""The extension in C, which an installation can do without: where no compiler is found another engine serves."""

from __future__ import annotations

import sys
from pathlib import Path

from setuptools import Extension, setup

FOLDER = Path("adapters") / "native"
FLAGS = ["/O2", "/std:c11"] if sys.platform == "win32" else ["-std=c11", "-O3", "-fvisibility=hidden"]

setup(
    ext_modules=[
        Extension(
            "adapters.native._core",
            sources=sorted(map(str, FOLDER.glob("*.c"))),
            depends=sorted(map(str, FOLDER.glob("*.h"))),
            define_macros=[("Py_LIMITED_API", "0x030B0000")],
            py_limited_api=True,
            extra_compile_args=FLAGS,
            optional=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp311"}},
)

# SPDX-License-Identifier: Apache-2.0
"""The build: one C++ file from gather.pyx, compiled once per CPU level. See pyproject.toml."""

import copy
import os
import platform
import shutil
import tempfile
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

LEVELS = ("v2", "v3", "v4") if platform.machine().lower() in ("x86_64", "amd64") else ("base",)
LEVELS = tuple(os.environ.get("UPSAMPLE3D_LEVELS", "").split()) or LEVELS
FLAGS = ["-std=c++17", "-O3", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra"]
SANITIZERS = "address,undefined"
HEADERS = [str(path) for path in sorted(Path("include").rglob("*.h"))]


class BuildAnew(build):
    """Builds from nothing: modules and levels of an earlier build would be installed as well."""

    def run(self):
        shutil.rmtree(Path(self.build_lib) / "upsample3d", ignore_errors=True)
        super().run()


class BuildLevels(build_ext):
    """Compiles each extension in a folder of its own, with OpenMP where it works."""

    def build_extensions(self):
        self.parallel = self.parallel or os.cpu_count()
        self.force = True  # flags come from the environment too, which time stamps do not show
        self.openmp = [] if os.environ.get("UPSAMPLE3D_OPENMP") == "0" else self.openmp_flags()
        sanitize = os.environ.get("UPSAMPLE3D_SANITIZE", "0")
        sanitize = SANITIZERS if sanitize == "1" else sanitize
        for extension in self.extensions:
            extension.extra_compile_args += self.openmp
            extension.extra_link_args += self.openmp
            if sanitize != "0":
                flags = [f"-fsanitize={sanitize}", "-fno-sanitize-recover=all", "-g"]
                extension.extra_compile_args += [*flags, "-O1", "-fno-omit-frame-pointer"]
                extension.extra_link_args += flags
        super().build_extensions()

    def build_extension(self, extension):
        # The levels share one source: in one folder they would overwrite each other's object files.
        own = copy.copy(self)
        own.build_temp = str(Path(self.build_temp) / extension.name)
        build_ext.build_extension(own, extension)

    def copy_extensions_to_source(self):
        # Editable installs: the source tree has no folders for the levels.
        for level in LEVELS:
            Path("python/upsample3d/kernel", level).mkdir(exist_ok=True)
        super().copy_extensions_to_source()

    def openmp_flags(self):
        """-fopenmp if a program with it compiles and links, else nothing: one thread then."""
        with tempfile.TemporaryDirectory() as folder:
            probe = Path(folder) / "probe.cpp"
            probe.write_text("#include <omp.h>\nint main() { return omp_get_max_threads() < 1; }\n")
            try:
                objects = self.compiler.compile([str(probe)], folder, extra_postargs=["-fopenmp"])
                self.compiler.link_executable(objects, "probe", folder, extra_postargs=["-fopenmp"])
            except Exception as failure:  # distutils' errors have moved between releases
                if os.environ.get("UPSAMPLE3D_OPENMP") == "1":
                    raise
                self.warn(f"no OpenMP, building for one thread: {failure}")
                return []
        return ["-fopenmp"]


def extension(name, source, flags):
    return Extension(
        f"upsample3d.{name}",
        [source],
        include_dirs=["include"],
        extra_compile_args=FLAGS + flags,
        extra_link_args=[],
        depends=HEADERS,
        language="c++",
    )


cpu, gather = cythonize(
    [extension("kernel.cpu", "pyx/cpu.pyx", []), extension("kernel.gather", "pyx/gather.pyx", [])],
    build_dir="build/cython",
    include_path=["pyx"],
    language_level=3,
    compiler_directives={
        "boundscheck": False,
        "wraparound": False,
        "cdivision": True,
    },
)
march = {level: [f"-march=x86-64-{level}"] if level != "base" else [] for level in LEVELS}
levels = [extension(f"kernel.{level}.gather", gather.sources[0], march[level]) for level in LEVELS]
setup(ext_modules=[cpu, *levels], cmdclass={"build": BuildAnew, "build_ext": BuildLevels})

# SPDX-License-Identifier: Apache-2.0
"""This machine: the CPU levels it has, OpenMP's threads, and the guard for forked children."""

import os

cdef extern from *:
    """
    #ifdef _OPENMP
    #include <omp.h>
    #define UPSAMPLE3D_OPENMP _OPENMP
    #else
    #define UPSAMPLE3D_OPENMP 0
    static int omp_get_max_threads(void) { return 1; }
    #endif

    #if !defined(_WIN32)
    #include <dlfcn.h>
    #include <pthread.h>
    #define AT_FORK(child) pthread_atfork(NULL, NULL, child)
    /* The file that OpenMP's functions come from. */
    static const char *openmp_file(void) {
        Dl_info info;
        return dladdr((void *)omp_get_max_threads, &info) && info.dli_fname ? info.dli_fname : "";
    }
    #else
    #define AT_FORK(child) 0
    static const char *openmp_file(void) { return ""; }
    #endif

    /* The highest x86-64 level that this machine and its system support; 0 elsewhere. */
    static int highest_level(void) {
    #if defined(__x86_64__)
        __builtin_cpu_init();
        if (__builtin_cpu_supports("x86-64-v4")) return 4;
        if (__builtin_cpu_supports("x86-64-v3")) return 3;
        if (__builtin_cpu_supports("x86-64-v2")) return 2;
    #endif
        return 0;
    }

    #if defined(__clang__)
    #define UPSAMPLE3D_COMPILER "clang " __clang_version__
    #elif defined(__GNUC__)
    #define UPSAMPLE3D_COMPILER "gcc " __VERSION__
    #else
    #define UPSAMPLE3D_COMPILER "unknown"
    #endif
    """
    int UPSAMPLE3D_OPENMP
    const char *UPSAMPLE3D_COMPILER
    int omp_get_max_threads() nogil
    const char *openmp_file()
    int AT_FORK(void (*child)() noexcept nogil)
    int highest_level()


cdef extern from "<fenv.h>" nogil:
    ctypedef struct fenv_t:
        pass
    const fenv_t *FE_DFL_ENV
    int fegetenv(fenv_t *mode)
    int fesetenv(const fenv_t *mode)


# The only C global: libgomp's pool does not survive a fork, and a region in the child would wait
# for threads that are not there. https://gcc.gnu.org/bugzilla/show_bug.cgi?id=60035
cdef bint forked = False


cdef void mark_forked() noexcept nogil:
    global forked
    forked = True


if AT_FORK(mark_forked) != 0:
    raise OSError("could not register the fork guard")


def max_threads():
    """How many threads a parallel region of this thread may have now: 1 in a forked child."""
    return 1 if forked else omp_get_max_threads()


def levels():
    """The CPU levels this machine can run, best first; "base" where there are no levels."""
    return tuple(f"v{level}" for level in range(highest_level(), 1, -1)) or ("base",)


def compiler():
    """The compiler that built this, with its version."""
    return UPSAMPLE3D_COMPILER.decode()


def openmp():
    """OpenMP's specification (yyyymm) and the runtime's file, or None where the build has none."""
    if UPSAMPLE3D_OPENMP == 0:
        return None
    return f"{UPSAMPLE3D_OPENMP} {os.fsdecode(openmp_file())}".rstrip()


def in_default_mode(function, *arguments):
    """function(*arguments), computed to nearest even and without flush to zero, whatever is set."""
    cdef fenv_t found
    fegetenv(&found)
    fesetenv(FE_DFL_ENV)
    try:
        return function(*arguments)
    finally:
        fesetenv(&found)

# SPDX-License-Identifier: Apache-2.0
"""This machine: the CPU levels it has, OpenMP's threads, and the guard for forked children."""

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
    #include <pthread.h>
    #define AT_FORK(child) pthread_atfork(NULL, NULL, child)
    #else
    #define AT_FORK(child) 0
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
    int AT_FORK(void (*child)() noexcept nogil)
    int highest_level()


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
    """The OpenMP specification this was built for as yyyymm, or 0 where there is none."""
    return UPSAMPLE3D_OPENMP

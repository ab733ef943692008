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
    static int omp_get_dynamic(void) { return 0; }
    #endif

    #if !defined(_WIN32)
    #include <dlfcn.h>
    #include <pthread.h>
    #include <sched.h>
    #define AT_FORK(child) pthread_atfork(NULL, NULL, child)

    #if defined(__linux__)
    #include <sys/syscall.h>
    #include <unistd.h>
    static long thread_number(void) { return syscall(SYS_gettid); }
    /* A thread that is joined counts against limits until the kernel has forgotten its number. */
    static void wait_for_end(long number) {
        int looks;
        for (looks = 0; looks < 1000; looks++) {
            if (syscall(SYS_tgkill, (long)getpid(), number, 0) != 0) return;
            sched_yield();
        }
    }
    #else
    static long thread_number(void) { return 0; }
    static void wait_for_end(long number) { (void)number; }
    #endif

    typedef struct {
        pthread_mutex_t *gate;
        long number;
    } visitor_t;

    static void *wait_at_gate(void *argument) {
        visitor_t *visitor = (visitor_t *)argument;
        visitor->number = thread_number();
        pthread_mutex_lock(visitor->gate);
        pthread_mutex_unlock(visitor->gate);
        return NULL;
    }

    /* How many threads, `most` at most, can be alive at once beside those that are: they are
     * started, wait at the gate, which the last one opens, and are gone when this returns. */
    static int startable_beside(int most, const pthread_attr_t *like, pthread_mutex_t *gate) {
        pthread_t thread;
        visitor_t visitor = {gate, 0};
        int more;
        if (most == 0 || pthread_create(&thread, like, wait_at_gate, &visitor) != 0) {
            pthread_mutex_unlock(gate);
            return 0;
        }
        more = startable_beside(most - 1, like, gate);
        pthread_join(thread, NULL);
        wait_for_end(visitor.number);
        return 1 + more;
    }

    static int startable(int most, size_t stack) {
        pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
        pthread_attr_t like;
        int found;
        pthread_attr_init(&like);
        if (stack) pthread_attr_setstacksize(&like, stack);
        pthread_mutex_lock(&gate);
        found = startable_beside(most, &like, &gate);
        pthread_attr_destroy(&like);
        return found;
    }
    /* The file that OpenMP's functions come from. */
    static const char *openmp_file(void) {
        Dl_info info;
        return dladdr((void *)omp_get_max_threads, &info) && info.dli_fname ? info.dli_fname : "";
    }
    #else
    #define AT_FORK(child) 0
    static int startable(int most, size_t) { return most; }
    static const char *openmp_file(void) { return ""; }
    #endif

    /* The threads that OpenMP keeps for this thread, those of its last region; and for how many
     * calls no more are tried, after more could not be had. */
    static thread_local int team = 1, patience = 0;

    /* OpenMP ends the process where it cannot start a thread. So before a larger team than the
     * last one, threads are started and joined here, with one to spare, and a region without work
     * lets OpenMP start its own while nobody else of ours does. */
    static int start_team(int wanted, size_t stack) {
        int more = wanted - (omp_get_dynamic() ? 1 : team), found;
        if (more > 0 && patience > 0) {
            patience--;
            wanted -= more;
        } else if (more > 0) {
            found = startable(more + 1, stack);
            if (found <= more) {
                wanted -= more - (found ? found - 1 : 0);
                patience = 100;
            }
    #ifdef _OPENMP
            #pragma omp parallel num_threads(wanted)
            {
                volatile char here = 1;  /* else the compiler leaves the region out */
                (void)here;
            }
    #endif
        }
        if (wanted > 1) team = wanted;
        return wanted;
    }

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
    int start_team(int wanted, size_t stack)
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


cdef size_t stack_size(str text):
    """Bytes of an OpenMP thread's stack as OMP_STACKSIZE says; 0: not said, or not understood."""
    text = text.strip().lower()
    number = text.rstrip("bkmg")
    try:
        return int(number) << {"b": 0, "": 10, "k": 10, "m": 20, "g": 30}[text[len(number):]]
    except (KeyError, ValueError, OverflowError):
        return 0


cdef size_t stack = stack_size(
    os.environ.get("OMP_STACKSIZE") or os.environ.get("GOMP_STACKSIZE") or ""
)


def started(int threads):
    """How many threads the next region of this thread can have, `threads` at most: they are there.

    Fewer where the system starts no more. Costs something (0.02 ms a thread) only for a larger team
    than this thread's last one.
    """
    return 1 if forked or threads < 2 else start_team(threads, stack)


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

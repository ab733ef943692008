# SPDX-License-Identifier: Apache-2.0
"""This machine: its CPU levels, OpenMP's threads, and the guard for forked children."""

import os

cdef extern from *:
    """
    #include <atomic>
    #include <chrono>
    #include <stdlib.h>
    #ifdef _OPENMP
    #include <omp.h>
    #define UPSAMPLE3D_OPENMP _OPENMP
    #else
    #define UPSAMPLE3D_OPENMP 0
    static int omp_get_max_threads(void) { return 1; }
    static int omp_get_num_procs(void) { return 0; }
    static int omp_get_dynamic(void) { return 0; }
    #endif

    #if !defined(_WIN32)
    #include <dlfcn.h>
    #include <pthread.h>
    #include <sched.h>
    #include <sys/resource.h>
    #define AT_FORK(child) pthread_atfork(NULL, NULL, child)

    #if defined(__linux__)
    #include <sys/syscall.h>
    #include <unistd.h>
    static long thread_number(void) { return syscall(SYS_gettid); }
    /* A joined thread counts against limits until the kernel has forgotten its number. */
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
        std::atomic<int> settled;
    } visitor_t;

    static void *wait_at_gate(void *argument) {
        visitor_t *visitor = (visitor_t *)argument;
        visitor->number = thread_number();
    #if defined(KMP_VERSION_MAJOR)
        /* LLVM's threads call malloc first, and glibc reserves 64 MB for each: it keeps ours. */
        void *volatile memory = malloc(1);
        free(memory);
    #endif
        visitor->settled = 1;
        pthread_mutex_lock(visitor->gate);
        pthread_mutex_unlock(visitor->gate);
        return NULL;
    }

    /* How many of `wanted` more threads can live at once: they start, wait at the gate that the
     * last one opens, and have ended when this returns. */
    static int startable_beside(int wanted, const pthread_attr_t *like, pthread_mutex_t *gate) {
        pthread_t thread;
        visitor_t visitor = {gate, 0, {0}};
        int more;
        if (wanted == 0 || pthread_create(&thread, like, wait_at_gate, &visitor) != 0) {
            pthread_mutex_unlock(gate);
            return 0;
        }
        while (!visitor.settled) sched_yield();
        more = startable_beside(wanted - 1, like, gate);
        pthread_join(thread, NULL);
        wait_for_end(visitor.number);
        return 1 + more;
    }

    static int startable(int wanted, size_t stack) {
        pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
        pthread_attr_t like;
        int found;
        pthread_attr_init(&like);
    #if defined(KMP_VERSION_MAJOR)
        /* Each LLVM thread has a slightly larger stack than the one before; glibc keeps ours for
         * them if they are large enough. */
        stack = (stack ? stack : (size_t)kmp_get_stacksize_s()) + (1 << 17);
    #endif
        if (stack) pthread_attr_setstacksize(&like, stack);
        pthread_mutex_lock(&gate);
        found = startable_beside(wanted, &like, &gate);
        pthread_attr_destroy(&like);
        return found;
    }
    /* The size of the first team that makes OpenMP start threads. If memory is limited, LLVM's
     * start one by one, as malloc may reserve 64 MB in vain for a moment. */
    static int first_team(int all, int one_more) {
    #if defined(KMP_VERSION_MAJOR)
        struct rlimit memory;
        if (getrlimit(RLIMIT_AS, &memory) != 0 || memory.rlim_cur != RLIM_INFINITY) return one_more;
    #endif
        (void)one_more;
        return all;
    }

    /* The file of OpenMP's functions. */
    static const char *openmp_file(void) {
        Dl_info info;
        return dladdr((void *)omp_get_max_threads, &info) && info.dli_fname ? info.dli_fname : "";
    }
    #else
    #define AT_FORK(child) 0
    static int first_team(int all, int) { return all; }
    static int startable(int wanted, size_t) { return wanted; }
    static const char *openmp_file(void) { return ""; }
    #endif

    /* The size of this thread's last team, which OpenMP keeps; and for how many calls no larger
     * one is tried, after the system refused it. */
    static thread_local int team = 1, patience = 0;

    /* If the system refuses more threads, the call runs with those it has. OpenMP would abort, so
     * we test-start a larger team first, with one to spare; a region without work then lets OpenMP
     * start its own. */
    static int start_team(int wanted, size_t stack) {
        int more = wanted - (omp_get_dynamic() ? 1 : team), found, size;
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
            for (size = first_team(wanted, team + 1); size <= wanted; size++) {
                #pragma omp parallel num_threads(size)
                {
                    volatile char here = 1;  /* else the compiler leaves the region out */
                    (void)here;
                }
            }
    #endif
        }
        if (wanted > 1) team = wanted;
        return wanted;
    }

    /* Seconds that OpenMP's threads stay awake after a region; and how many calls must follow each
     * other so closely before small work wakes them. Waking takes 50 to 80 us; the 6,000 spins of
     * wait_policy.py take 84 us. */
    static const double AWAKE_SECONDS = 70e-6;
    static const int CALLS_IN_A_ROW = 3;

    static thread_local double ended = 0;
    static thread_local int in_a_row = 0;

    static double seconds(void) {
        using namespace std::chrono;
        return duration<double>(steady_clock::now().time_since_epoch()).count();
    }

    static void note_end(void) { ended = seconds(); }

    /* Whether this thread's calls come closely enough to keep its team awake. */
    static int team_is_awake(void) {
        in_a_row = seconds() - ended > AWAKE_SECONDS ? 0 : in_a_row + 1;
        return in_a_row >= CALLS_IN_A_ROW;
    }

    /* The highest x86-64 level of this machine and its system; 0 elsewhere. By features: clang 14
     * knows neither the levels by name nor f16c, movbe and lzcnt. */
    #if defined(__x86_64__)
    #include <cpuid.h>
    static int highest_level(void) {
        unsigned a, b, c = 0, d, extended = 0;
        const unsigned v2 = bit_CMPXCHG16B, v3 = bit_F16C | bit_MOVBE;
        __builtin_cpu_init();  /* knows what the system saves of AVX and AVX-512 */
        __get_cpuid(1, &a, &b, &c, &d);
        __get_cpuid(0x80000001, &a, &b, &extended, &d);
        if (!(__builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") &&
              __builtin_cpu_supports("popcnt") && (c & v2) == v2 && extended & bit_LAHF_LM))
            return 0;
        if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma") &&
              (c & v3) == v3 && extended & bit_ABM))
            return 2;
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
               __builtin_cpu_supports("avx512vl") ? 4 : 3;
    }
    #else
    static int highest_level(void) { return 0; }
    #endif

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
    int omp_get_num_procs() nogil
    const char *openmp_file()
    int start_team(int wanted, size_t stack)
    int team_is_awake()
    void note_end()
    int AT_FORK(void (*child)() noexcept nogil)
    int highest_level()


cdef extern from "<fenv.h>" nogil:
    ctypedef struct fenv_t:
        pass
    const fenv_t *FE_DFL_ENV
    int fegetenv(fenv_t *mode)
    int fesetenv(const fenv_t *mode)


# The only C global. libgomp's pool does not survive a fork: a region in the child would wait for
# its threads forever. https://gcc.gnu.org/bugzilla/show_bug.cgi?id=60035
cdef bint forked = False


cdef void mark_forked() noexcept nogil:
    global forked
    forked = True


if AT_FORK(mark_forked) != 0:
    raise OSError("could not register the fork guard")


def max_threads():
    """How many threads a parallel region of this thread may have now: 1 in a forked child.

    If the runtime reads OMP_NUM_THREADS as less than 1, its processors count.
    """
    return 1 if forked else omp_get_max_threads() if omp_get_max_threads() > 0 else processors()


def processors():
    """How many processors OpenMP's threads may run on; 0 if the build has no OpenMP.

    The main thread's affinity does not tell: OMP_PROC_BIND and OMP_PLACES tie it to one of them.
    """
    return omp_get_num_procs()


cdef size_t stack_size(str text):
    """The stack of an OpenMP thread in bytes, from OMP_STACKSIZE; 0 if not given or malformed."""
    text = text.strip().lower()
    number = text.rstrip("bkmg")
    try:
        return int(number) << {"b": 0, "": 10, "k": 10, "m": 20, "g": 30}[text[len(number):]]
    except (KeyError, ValueError, OverflowError):
        return 0


cdef size_t stack = stack_size(
    os.environ.get("OMP_STACKSIZE") or os.environ.get("GOMP_STACKSIZE") or ""
)


def ensure_threads(int threads, bint wake):
    """How many threads the next region of this thread has, at most `threads`: all are started.

    1 if OpenMP's threads sleep and should not be woken: `wake` is false, and this thread's calls,
    each followed by `note_end_of_call`, are too far apart to keep them awake. Fewer if the system
    refuses more. A larger team than this thread's last one costs 0.02 ms a thread.
    """
    if forked or threads < 2 or not (wake or team_is_awake()):
        return 1
    return start_team(threads, stack)


def note_end_of_call():
    """Tells `ensure_threads` that this thread's call has ended."""
    note_end()


def levels():
    """The CPU levels this machine can run, best first; "base" on machines without levels."""
    return tuple(f"v{level}" for level in range(highest_level(), 1, -1)) or ("base",)


def compiler():
    """The compiler of this build, with its version."""
    return UPSAMPLE3D_COMPILER.decode()


def openmp():
    """OpenMP's specification (yyyymm) and the runtime's file, or None if the build has none."""
    if UPSAMPLE3D_OPENMP == 0:
        return None
    return f"{UPSAMPLE3D_OPENMP} {os.fsdecode(openmp_file())}".rstrip()


def in_default_mode(function, *arguments):
    """function(*arguments), rounded to nearest even and without flush to zero in any mode."""
    cdef fenv_t found
    fegetenv(&found)
    fesetenv(FE_DFL_ENV)
    try:
        return function(*arguments)
    finally:
        fesetenv(&found)

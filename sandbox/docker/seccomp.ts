// The system calls that programs may use: those that Python, numpy and pytest need. Docker's own profile allows about a
// hundred more, such as io_uring, System V queues, ptrace and process_vm_readv, and rare kinds of sockets. Docker ignores
// names that a kernel or an architecture lacks.

const ALLOWED = `
  access chdir chmod chown close close_range copy_file_range creat dup dup2 dup3 faccessat faccessat2 fadvise64 fallocate
  fchdir fchmod fchmodat fchmodat2 fchown fchownat fcntl fdatasync flock fstat fstatfs fsync ftruncate futimesat getcwd
  getdents getdents64 getxattr fgetxattr lgetxattr listxattr flistxattr llistxattr ioctl lchown link linkat lseek lstat
  memfd_create mkdir mkdirat mknod mknodat newfstatat open openat openat2 pread64 preadv preadv2 pwrite64 pwritev pwritev2
  read readahead readlink readlinkat readv rename renameat renameat2 rmdir sendfile splice stat statfs statx symlink
  symlinkat sync_file_range tee truncate umask unlink unlinkat utime utimensat utimes vmsplice write writev

  epoll_create epoll_create1 epoll_ctl epoll_pwait epoll_pwait2 epoll_wait eventfd eventfd2 inotify_add_watch inotify_init
  inotify_init1 inotify_rm_watch pipe pipe2 poll ppoll pselect6 select signalfd signalfd4 timerfd_create timerfd_gettime
  timerfd_settime

  brk get_mempolicy madvise membarrier mincore mlock mlock2 mlockall mmap mprotect mremap msync munlock munlockall munmap
  pkey_alloc pkey_free pkey_mprotect

  arch_prctl capget capset execve execveat exit exit_group fork futex futex_waitv get_robust_list getcpu getegid geteuid
  getgid getgroups getpgid getpgrp getpid getppid getpriority getresgid getresuid getrlimit getrusage getsid gettid getuid
  kill pidfd_open pidfd_send_signal prctl prlimit64 restart_syscall rseq sched_get_priority_max sched_get_priority_min
  sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_setaffinity sched_setattr
  sched_setparam sched_setscheduler sched_yield set_robust_list set_tid_address setfsgid setfsuid setgid setgroups
  setpgid setpriority setregid setresgid setresuid setreuid setrlimit setsid setuid tgkill tkill vfork wait4 waitid

  alarm getitimer pause rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend
  rt_sigtimedwait rt_tgsigqueueinfo setitimer sigaltstack

  clock_getres clock_gettime clock_nanosleep getrandom gettimeofday nanosleep sysinfo time timer_create timer_delete
  timer_getoverrun timer_gettime timer_settime times uname

  bind connect getpeername getsockname getsockopt listen accept accept4 recvfrom recvmmsg recvmsg sendmmsg sendmsg sendto
  setsockopt shutdown
`;

const SOCKETS = { unix: 1, internet: 2, internet6: 10 }; // there is no network, so they reach only the container itself
const NEW_NAMESPACES = 0x7e02_0000; // the flags of clone that create namespaces
const ENOSYS = 38;

/** The profile in Docker's format. A call that it does not name fails with EPERM. */
export const SECCOMP_PROFILE = JSON.stringify({
  defaultAction: 'SCMP_ACT_ERRNO',
  syscalls: [
    { names: ALLOWED.trim().split(/\s+/), action: 'SCMP_ACT_ALLOW' },
    ...Object.values(SOCKETS).map((value) => ({
      names: ['socket', 'socketpair'],
      action: 'SCMP_ACT_ALLOW',
      args: [{ index: 0, value, op: 'SCMP_CMP_EQ' }],
    })),
    {
      names: ['clone'],
      action: 'SCMP_ACT_ALLOW',
      args: [{ index: 0, value: NEW_NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }],
    },
    // a filter cannot read the flags of clone3, which are in memory; after ENOSYS the C library uses clone
    { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: ENOSYS },
  ],
});

/* Stands before the C library in the server's process and writes down, in the file POWER_JOURNAL, every change below the
 * folder POWER_FOLDER and every sync, in their order. After a kill the harness rolls the folder back to what a machine
 * without power may be left with (disk.ts). A change is written down after it was made and a sync has a beginning and
 * an end, so a change counts as synced only if it had returned before the sync began.
 *
 *   POWER_SYNC_US     how long a sync takes: nothing is really synced, but a kill must be able to fall into one
 *   POWER_KILL_AT     the process ends at this entry of the journal, counted from 1
 *   POWER_NO_BARRIER  1: syncs are not written down, so synced data are rolled back too (the control of the test)
 *
 * Entry: u32 magic, kind · u64 inode, a, b · u32 lengths of two paths · u64 length of data · paths · data · u32 magic
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>

enum { OPENED = 1, WRITE, TRUNCATE, RENAME, LINK, UNLINK, MKDIR, RMDIR, SYNC_BEGIN, SYNC_END, MAPPED, STDIO };
#define MAGIC 0x504f5752u
#define SLOTS (1u << 17)

static char folder[PATH_MAX];
static size_t folder_length;
static int journal = -1;
static int no_barrier;
static useconds_t sync_us = 1500;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* Files and folders of ours, by inode: descriptors may be duplicated, inodes stay. */
static ino_t inodes[SLOTS];
static dev_t device;
static uint64_t syncs, entries, kill_at;

#define REAL(name) \
  static __typeof__(name) *real; \
  if (real == NULL) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static void begin(void) {
  const char *where = getenv("POWER_FOLDER"), *file = getenv("POWER_JOURNAL"), *us = getenv("POWER_SYNC_US"),
             *last = getenv("POWER_KILL_AT");
  struct stat info;
  if (where == NULL || file == NULL || realpath(where, folder) == NULL || stat(folder, &info) != 0) return;
  folder_length = strlen(folder);
  device = info.st_dev;
  if (us != NULL) sync_us = (useconds_t)atoi(us);
  if (last != NULL) kill_at = strtoull(last, NULL, 10);
  no_barrier = getenv("POWER_NO_BARRIER") != NULL;
  journal = (int)syscall(SYS_openat, AT_FDCWD, file, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

static int ready(void) {
  pthread_once(&once, begin);
  return journal >= 0;
}

static int known(ino_t inode) {
  for (unsigned i = (unsigned)(inode * 2654435761u) % SLOTS, n = 0; n < SLOTS; i = (i + 1) % SLOTS, n++) {
    ino_t there = __atomic_load_n(&inodes[i], __ATOMIC_ACQUIRE);
    if (there == inode) return 1;
    if (there == 0) return 0;
  }
  return 0;
}

static void learn(ino_t inode) {
  if (known(inode)) return;
  pthread_mutex_lock(&lock);
  unsigned i = (unsigned)(inode * 2654435761u) % SLOTS;
  while (inodes[i] != 0 && inodes[i] != inode) i = (i + 1) % SLOTS;
  __atomic_store_n(&inodes[i], inode, __ATOMIC_RELEASE);
  pthread_mutex_unlock(&lock);
}

/* The absolute path of `path`, if it lies in the folder. */
static int inside(int at, const char *path, char out[PATH_MAX]) {
  char base[PATH_MAX] = "", link[64];
  if (!ready() || path == NULL) return 0;
  if (path[0] != '/') {
    if (at == AT_FDCWD) {
      if (getcwd(base, sizeof base) == NULL) return 0;
    } else {
      snprintf(link, sizeof link, "/proc/self/fd/%d", at);
      ssize_t length = readlink(link, base, sizeof base - 1);
      if (length < 0) return 0;
      base[length] = 0;
    }
  }
  char joined[2 * PATH_MAX], *save = NULL;
  snprintf(joined, sizeof joined, "%s/%s", base, path);
  size_t length = 0;
  for (char *part = strtok_r(joined, "/", &save); part != NULL; part = strtok_r(NULL, "/", &save)) {
    if (strcmp(part, ".") == 0) continue;
    if (strcmp(part, "..") == 0) {
      while (length > 0 && out[--length] != '/') {}
      continue;
    }
    size_t more = strlen(part);
    if (length + more + 2 > PATH_MAX) return 0;
    out[length++] = '/';
    memcpy(out + length, part, more);
    length += more;
  }
  out[length] = 0;
  return strncmp(out, folder, folder_length) == 0 && (out[folder_length] == '/' || out[folder_length] == 0);
}

static void note(uint32_t kind, uint64_t inode, uint64_t a, uint64_t b, const char *path, const char *other,
                 const struct iovec *data, int parts, size_t bytes) {
  int kept = errno;
  uint32_t magic = MAGIC, lengths[2] = {path ? strlen(path) : 0, other ? strlen(other) : 0};
  unsigned char head[48];
  uint64_t numbers[3] = {inode, a, b}, length = bytes;
  memcpy(head, &magic, 4);
  memcpy(head + 4, &kind, 4);
  memcpy(head + 8, numbers, 24);
  memcpy(head + 32, lengths, 8);
  memcpy(head + 40, &length, 8);
  struct iovec all[1024 + 4];
  int n = 0;
  all[n++] = (struct iovec){head, sizeof head};
  if (lengths[0]) all[n++] = (struct iovec){(void *)path, lengths[0]};
  if (lengths[1]) all[n++] = (struct iovec){(void *)other, lengths[1]};
  for (int i = 0; i < parts && bytes > 0; i++) {
    size_t take = data[i].iov_len < bytes ? data[i].iov_len : bytes;
    all[n++] = (struct iovec){data[i].iov_base, take};
    bytes -= take;
  }
  all[n++] = (struct iovec){&magic, 4};
  pthread_mutex_lock(&lock);
  syscall(SYS_writev, journal, all, n);
  /* Under the lock, so that nothing comes after it. */
  if (++entries == kill_at) kill(getpid(), SIGKILL);
  pthread_mutex_unlock(&lock);
  errno = kept;
}

/* The inode of a descriptor that is ours, or 0. */
static ino_t ours(int file) {
  struct stat info;
  int kept = errno;
  ino_t found = 0;
  if (ready() && fstat(file, &info) == 0 && info.st_dev == device && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)) &&
      known(info.st_ino))
    found = info.st_ino;
  errno = kept;
  return found;
}

/* ---- files ---- */

static int opened(int file, int at, const char *path, int flags) {
  char full[PATH_MAX];
  struct stat info;
  if (file < 0 || !inside(at, path, full)) return file;
  int kept = errno;
  if (fstat(file, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))) {
    learn(info.st_ino);
    if (S_ISREG(info.st_mode) && (flags & (O_CREAT | O_TRUNC)))
      note(OPENED, info.st_ino, (flags & O_TRUNC) != 0, 0, full, NULL, NULL, 0, 0);
  }
  errno = kept;
  return file;
}

#define MODE(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | __O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  }

int open(const char *path, int flags, ...) {
  REAL(open);
  MODE(flags)
  return opened(real(path, flags, mode), AT_FDCWD, path, flags);
}
int open64(const char *path, int flags, ...) {
  REAL(open64);
  MODE(flags)
  return opened(real(path, flags, mode), AT_FDCWD, path, flags);
}
int openat(int at, const char *path, int flags, ...) {
  REAL(openat);
  MODE(flags)
  return opened(real(at, path, flags, mode), at, path, flags);
}
int openat64(int at, const char *path, int flags, ...) {
  REAL(openat64);
  MODE(flags)
  return opened(real(at, path, flags, mode), at, path, flags);
}
int creat(const char *path, mode_t mode) { return open(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }
int creat64(const char *path, mode_t mode) { return open64(path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

/* `position` is -1 where the descriptor's own was used, which has moved on by then. */
static ssize_t wrote(int file, const struct iovec *data, int parts, ssize_t done, off_t position) {
  ino_t inode;
  if (done <= 0 || (inode = ours(file)) == 0) return done;
  int kept = errno, flags = fcntl(file, F_GETFL);
  if (position < 0) position = lseek(file, 0, SEEK_CUR) - done;
  int synced = (flags & (O_DSYNC | O_SYNC)) != 0 && !no_barrier;
  if (synced && sync_us > 0) usleep(sync_us);
  errno = kept;
  note(WRITE, inode, (uint64_t)position, (uint64_t)synced, NULL, NULL, data, parts, (size_t)done);
  return done;
}

ssize_t write(int file, const void *bytes, size_t length) {
  REAL(write);
  ssize_t done = real(file, bytes, length);
  return wrote(file, &(struct iovec){(void *)bytes, length}, 1, done, -1);
}
ssize_t writev(int file, const struct iovec *data, int parts) {
  REAL(writev);
  return wrote(file, data, parts, real(file, data, parts), -1);
}
ssize_t pwrite(int file, const void *bytes, size_t length, off_t position) {
  REAL(pwrite);
  return wrote(file, &(struct iovec){(void *)bytes, length}, 1, real(file, bytes, length, position), position);
}
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t position) {
  REAL(pwrite64);
  return wrote(file, &(struct iovec){(void *)bytes, length}, 1, real(file, bytes, length, position), position);
}
ssize_t pwritev(int file, const struct iovec *data, int parts, off_t position) {
  REAL(pwritev);
  return wrote(file, data, parts, real(file, data, parts, position), position);
}
ssize_t pwritev64(int file, const struct iovec *data, int parts, off64_t position) {
  REAL(pwritev64);
  return wrote(file, data, parts, real(file, data, parts, position), position);
}

/* What the kernel copied is read back. */
static void copied(int file, off_t position, size_t length) {
  ino_t inode = ours(file);
  char *bytes;
  if (inode == 0 || length == 0 || (bytes = malloc(length)) == NULL) return;
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  int reader = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  ssize_t got = pread(reader, bytes, length, position);
  close(reader);
  if (got > 0) note(WRITE, inode, (uint64_t)position, 0, NULL, NULL, &(struct iovec){bytes, got}, 1, (size_t)got);
  free(bytes);
}
ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t length, unsigned flags) {
  REAL(copy_file_range);
  ssize_t done = real(from, from_at, to, to_at, length, flags);
  if (done > 0) copied(to, (to_at ? *to_at : lseek(to, 0, SEEK_CUR)) - done, (size_t)done);
  return done;
}
ssize_t sendfile(int to, int from, off_t *from_at, size_t length) {
  REAL(sendfile);
  ssize_t done = real(to, from, from_at, length);
  if (done > 0 && ours(to)) copied(to, lseek(to, 0, SEEK_CUR) - done, (size_t)done);
  return done;
}
ssize_t sendfile64(int to, int from, off64_t *from_at, size_t length) {
  REAL(sendfile64);
  ssize_t done = real(to, from, from_at, length);
  if (done > 0 && ours(to)) copied(to, lseek(to, 0, SEEK_CUR) - done, (size_t)done);
  return done;
}

static int resized(int file, int result, off_t length) {
  ino_t inode;
  if (result == 0 && (inode = ours(file)) != 0) note(TRUNCATE, inode, (uint64_t)length, 0, NULL, NULL, NULL, 0, 0);
  return result;
}
int ftruncate(int file, off_t length) {
  REAL(ftruncate);
  return resized(file, real(file, length), length);
}
int ftruncate64(int file, off64_t length) {
  REAL(ftruncate64);
  return resized(file, real(file, length), length);
}
static int grown(int file, int result) {
  struct stat info;
  if (result == 0 && ours(file) && fstat(file, &info) == 0) resized(file, 0, info.st_size);
  return result;
}
int fallocate(int file, int mode, off_t from, off_t length) {
  REAL(fallocate);
  return grown(file, real(file, mode, from, length));
}
int fallocate64(int file, int mode, off64_t from, off64_t length) {
  REAL(fallocate64);
  return grown(file, real(file, mode, from, length));
}
int posix_fallocate(int file, off_t from, off_t length) {
  REAL(posix_fallocate);
  return grown(file, real(file, from, length));
}
int posix_fallocate64(int file, off64_t from, off64_t length) {
  REAL(posix_fallocate64);
  return grown(file, real(file, from, length));
}

/* ---- names ---- */

/* Lance moves files by system calls of its own, past the C library. So these calls are trapped, from wherever they come,
 * made here, and written down. Only `power_call` is let through. */
long power_call(long number, long a, long b, long c, long d, long e);
extern char power_call_end[];
#if defined(__x86_64__)
__asm__(".text\n.type power_call,@function\n.globl power_call\npower_call: mov %rdi,%rax\n mov %rsi,%rdi\n mov %rdx,%rsi\n"
        "mov %rcx,%rdx\n mov %r8,%r10\n mov %r9,%r8\n syscall\n ret\n.globl power_call_end\npower_call_end: nop\n");
#define REGISTER(context, i) ((context)->uc_mcontext.gregs[(const int[]){REG_RDI, REG_RSI, REG_RDX, REG_R10, REG_R8}[i]])
#define RESULT(context) ((context)->uc_mcontext.gregs[REG_RAX])
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
__asm__(".text\n.type power_call,%function\n.globl power_call\npower_call: mov x8,x0\n mov x0,x1\n mov x1,x2\n mov x2,x3\n"
        "mov x3,x4\n mov x4,x5\n svc #0\n ret\n.globl power_call_end\npower_call_end: nop\n");
#define REGISTER(context, i) ((context)->uc_mcontext.regs[i])
#define RESULT(context) ((context)->uc_mcontext.regs[0])
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "neither x86-64 nor arm64"
#endif

static void trapped(int signal, siginfo_t *info, void *given) {
  ucontext_t *context = given;
  long number = info->si_syscall, v[5];
  int kept = errno;
  (void)signal;
  for (int i = 0; i < 5; i++) v[i] = (long)REGISTER(context, i);
  long result = power_call(number, v[0], v[1], v[2], v[3], v[4]);
  if (result == 0) {
    char a[PATH_MAX], b[PATH_MAX];
    int bare = 0;
#ifdef SYS_rename
    bare = number == SYS_rename;
#endif
    const char *from = (const char *)(bare ? v[0] : v[1]), *to = (const char *)(bare ? v[1] : v[3]);
    if (inside(bare ? AT_FDCWD : (int)v[0], from, a) && inside(bare ? AT_FDCWD : (int)v[2], to, b))
      note(RENAME, 0, 0, 0, a, b, NULL, 0, 0);
  }
  RESULT(context) = result;
  errno = kept;
}

__attribute__((constructor)) static void trap(void) {
  if (!ready()) return;
  struct sigaction action = {.sa_sigaction = trapped, .sa_flags = SA_SIGINFO | SA_NODEFER};
  sigaction(SIGSYS, &action, NULL);
  uint64_t from = (uint64_t)power_call, to = (uint64_t)power_call_end;
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
#ifdef SYS_rename
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rename, 3, 0),
#else
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat, 3, 0),
#endif
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat, 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_renameat2, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer) + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(from >> 32), 0, 4),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, instruction_pointer)),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)from, 0, 2),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (uint32_t)to, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
  };
  struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    perror("power: system calls can't be trapped");
}

static int linked(int result, int at, const char *from, int to_at, const char *to) {
  char a[PATH_MAX], b[PATH_MAX];
  if (result == 0 && inside(at, from, a) && inside(to_at, to, b)) note(LINK, 0, 0, 0, a, b, NULL, 0, 0);
  return result;
}
int link(const char *from, const char *to) {
  REAL(link);
  return linked(real(from, to), AT_FDCWD, from, AT_FDCWD, to);
}
int linkat(int at, const char *from, int to_at, const char *to, int flags) {
  REAL(linkat);
  return linked(real(at, from, to_at, to, flags), at, from, to_at, to);
}
static int gone(int result, int at, const char *path, uint32_t kind) {
  char full[PATH_MAX];
  if (result == 0 && inside(at, path, full)) note(kind, 0, 0, 0, full, NULL, NULL, 0, 0);
  return result;
}
int unlink(const char *path) {
  REAL(unlink);
  return gone(real(path), AT_FDCWD, path, UNLINK);
}
int unlinkat(int at, const char *path, int flags) {
  REAL(unlinkat);
  return gone(real(at, path, flags), at, path, flags & AT_REMOVEDIR ? RMDIR : UNLINK);
}
int rmdir(const char *path) {
  REAL(rmdir);
  return gone(real(path), AT_FDCWD, path, RMDIR);
}
int remove(const char *path) {
  struct stat info;
  if (lstat(path, &info) != 0) return -1;
  return S_ISDIR(info.st_mode) ? rmdir(path) : unlink(path);
}
static int made(int result, int at, const char *path) {
  char full[PATH_MAX];
  struct stat info;
  if (result != 0 || !inside(at, path, full) || stat(full, &info) != 0) return result;
  learn(info.st_ino);
  note(MKDIR, info.st_ino, 0, 0, full, NULL, NULL, 0, 0);
  return result;
}
int mkdir(const char *path, mode_t mode) {
  REAL(mkdir);
  return made(real(path, mode), AT_FDCWD, path);
}
int mkdirat(int at, const char *path, mode_t mode) {
  REAL(mkdirat);
  return made(real(at, path, mode), at, path);
}

/* ---- syncs ---- */

static int synced(int file, int (*real)(int)) {
  ino_t inode = ours(file);
  if (inode == 0) return real(file);
  uint64_t number = __atomic_add_fetch(&syncs, 1, __ATOMIC_SEQ_CST);
  if (!no_barrier) note(SYNC_BEGIN, inode, number, 0, NULL, NULL, NULL, 0, 0);
  if (sync_us > 0) usleep(sync_us);
  if (!no_barrier) note(SYNC_END, inode, number, 0, NULL, NULL, NULL, 0, 0);
  return 0;
}
int fsync(int file) {
  REAL(fsync);
  return synced(file, real);
}
int fdatasync(int file) {
  REAL(fdatasync);
  return synced(file, real);
}

/* ---- what does not come through calls above ---- */

static void *mapped(void *result, int protection, int flags, int file) {
  ino_t inode;
  if (result != MAP_FAILED && file >= 0 && (protection & PROT_WRITE) && (flags & MAP_SHARED) &&
      (inode = ours(file)) != 0)
    note(MAPPED, inode, 0, 0, NULL, NULL, NULL, 0, 0);
  return result;
}
void *mmap(void *address, size_t length, int protection, int flags, int file, off_t position) {
  void *result = (void *)syscall(SYS_mmap, address, length, protection, flags, file, position);
  return mapped(result, protection, flags, file);
}
void *mmap64(void *address, size_t length, int protection, int flags, int file, off64_t position) {
  void *result = (void *)syscall(SYS_mmap, address, length, protection, flags, file, position);
  return mapped(result, protection, flags, file);
}

/* The C library's own streams write past these functions: such a file is read back when it is closed. */
#define STREAMS 64
static struct {
  FILE *stream;
  char path[PATH_MAX];
} streams[STREAMS];

static FILE *streamed(FILE *stream, const char *path, const char *mode) {
  char full[PATH_MAX];
  struct stat info;
  if (stream == NULL || strpbrk(mode, "wa+") == NULL || !inside(AT_FDCWD, path, full)) return stream;
  if (fstat(fileno(stream), &info) != 0) return stream;
  learn(info.st_ino);
  note(OPENED, info.st_ino, mode[0] == 'w', 0, full, NULL, NULL, 0, 0);
  note(STDIO, info.st_ino, 0, 0, NULL, NULL, NULL, 0, 0);
  pthread_mutex_lock(&lock);
  for (int i = 0; i < STREAMS; i++) {
    if (streams[i].stream != NULL) continue;
    streams[i].stream = stream;
    strcpy(streams[i].path, full);
    break;
  }
  pthread_mutex_unlock(&lock);
  return stream;
}
FILE *fopen(const char *path, const char *mode) {
  REAL(fopen);
  return streamed(real(path, mode), path, mode);
}
FILE *fopen64(const char *path, const char *mode) {
  REAL(fopen64);
  return streamed(real(path, mode), path, mode);
}
int fclose(FILE *stream) {
  REAL(fclose);
  char path[PATH_MAX] = "";
  pthread_mutex_lock(&lock);
  for (int i = 0; i < STREAMS; i++) {
    if (streams[i].stream != stream) continue;
    strcpy(path, streams[i].path);
    streams[i].stream = NULL;
  }
  pthread_mutex_unlock(&lock);
  int result = real(stream);
  struct stat info;
  if (path[0] == 0 || stat(path, &info) != 0) return result;
  int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
  copied(file, 0, (size_t)info.st_size);
  close(file);
  return result;
}

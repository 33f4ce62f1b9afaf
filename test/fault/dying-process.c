/* Stands before the C library in the server's process, which it kills at the call with the number DIES_AT of those that
 * change what is on the disk: before the call does anything. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long calls;

static void count(void) {
  const char *last = getenv("DIES_AT");
  if (last != NULL && atomic_fetch_add(&calls, 1) + 1 == atol(last)) {
    kill(getpid(), SIGKILL);
    pause();
  }
}

#define COUNTED(result, name, parameters, arguments)              \
  result name parameters {                                        \
    static result(*real) parameters;                              \
    if (real == NULL) real = (result(*) parameters)dlsym(RTLD_NEXT, #name); \
    count();                                                      \
    return real arguments;                                        \
  }

COUNTED(ssize_t, pwrite, (int file, const void *bytes, size_t length, off_t position), (file, bytes, length, position))
COUNTED(ssize_t, pwrite64, (int file, const void *bytes, size_t length, off64_t position), (file, bytes, length, position))
COUNTED(ssize_t, pwritev, (int file, const struct iovec *parts, int length, off_t position), (file, parts, length, position))
COUNTED(ssize_t, pwritev64, (int file, const struct iovec *parts, int length, off64_t position), (file, parts, length, position))
COUNTED(int, fdatasync, (int file), (file))
COUNTED(int, fsync, (int file), (file))
COUNTED(int, rename, (const char *from, const char *to), (from, to))
COUNTED(int, unlink, (const char *path), (path))
COUNTED(int, unlinkat, (int folder, const char *path, int flags), (folder, path, flags))
COUNTED(int, remove, (const char *path), (path))

/* Stands before the C library in the server's process: while a file of that name exists in the folder FAULT_SWITCHES,
 * `sync` makes every fdatasync fail, `meta` every write to LMDB's first two pages, and `log` every write to a segment of
 * the commit log, of which the first 100 bytes still arrive. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static int switched_on(const char *name) {
  const char *folder = getenv("FAULT_SWITCHES");
  char path[1024];
  if (folder == NULL) return 0;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, F_OK) == 0;
}

static int is_segment(int file) {
  char link[64], path[1024];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return strstr(path, "/log/segment-") != NULL;
}

static ssize_t write_at(int file, const void *bytes, size_t length, off_t position) {
  static ssize_t (*real)(int, const void *, size_t, off_t);
  if (real == NULL) real = dlsym(RTLD_NEXT, "pwrite64");
  if (position < 8192 && length < 4096 && switched_on("meta") && !is_segment(file)) {
    errno = EIO;
    return -1;
  }
  if (switched_on("log") && is_segment(file)) {
    real(file, bytes, length < 100 ? length : 100, position);
    errno = EIO;
    return -1;
  }
  return real(file, bytes, length, position);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off_t position) {
  return write_at(file, bytes, length, position);
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t position) {
  return write_at(file, bytes, length, position);
}

static ssize_t write_pieces_at(int file, const struct iovec *pieces, int count, off_t position) {
  static ssize_t (*real)(int, const struct iovec *, int, off_t);
  if (real == NULL) real = dlsym(RTLD_NEXT, "pwritev64");
  if (count > 0 && switched_on("log") && is_segment(file)) {
    struct iovec some = {pieces[0].iov_base, pieces[0].iov_len < 100 ? pieces[0].iov_len : 100};
    real(file, &some, 1, position);
    errno = EIO;
    return -1;
  }
  return real(file, pieces, count, position);
}

ssize_t pwritev64(int file, const struct iovec *pieces, int count, off_t position) {
  return write_pieces_at(file, pieces, count, position);
}

ssize_t pwritev(int file, const struct iovec *pieces, int count, off_t position) {
  return write_pieces_at(file, pieces, count, position);
}

int fdatasync(int file) {
  static int (*real)(int);
  if (real == NULL) real = dlsym(RTLD_NEXT, "fdatasync");
  if (switched_on("sync")) {
    errno = EIO;
    return -1;
  }
  return real(file);
}

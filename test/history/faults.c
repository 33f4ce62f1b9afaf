/* Stands before the C library in the server's process. The file FAULT_STATE holds two numbers of 64 bits that the test
 * changes while the server runs: how far the wall clock is off, in milliseconds, and how full the disk is. At 1 it says that
 * it has no room left; at 2 it also refuses what makes a file of the folder FAULT_FOLDER longer. What overwrites goes
 * on, as it does on a real one. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static volatile int64_t *state;
static dev_t device;
static char folder[PATH_MAX];

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("FAULT_STATE"), *where = getenv("FAULT_FOLDER");
  struct stat info;
  if (file == NULL || where == NULL || stat(where, &info) != 0 || realpath(where, folder) == NULL) return;
  device = info.st_dev;
  int descriptor = open(file, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  void *mapped = mmap(NULL, 16, PROT_READ, MAP_SHARED, descriptor, 0);
  if (mapped != MAP_FAILED) state = mapped;
  close(descriptor);
}

#define REAL(name) \
  static __typeof__(name) *real; \
  if (real == NULL) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static int64_t off_ms(void) { return state == NULL ? 0 : state[0]; }

int clock_gettime(clockid_t clock, struct timespec *time) {
  REAL(clock_gettime);
  int result = real(clock, time);
  int64_t ms = off_ms();
  if (result != 0 || ms == 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)) return result;
  int64_t ns = time->tv_nsec + (ms % 1000) * 1000000;
  time->tv_sec += ms / 1000 + (ns < 0 ? -1 : ns >= 1000000000 ? 1 : 0);
  time->tv_nsec = (ns + 1000000000) % 1000000000;
  return result;
}
int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  (void)zone;
  int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}
time_t time(time_t *out) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != NULL) *out = now.tv_sec;
  return now.tv_sec;
}

/* Whether a write of these bytes finds no room. */
static int refused(int file, off_t position, size_t length) {
  struct stat info;
  char link[64], path[PATH_MAX];
  if (state == NULL || state[1] < 2) return 0;
  if (fstat(file, &info) != 0 || !S_ISREG(info.st_mode) || info.st_dev != device) return 0;
  if (position < 0) position = lseek(file, 0, SEEK_CUR);
  if (position + (off_t)length <= info.st_size) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t got = readlink(link, path, sizeof path - 1);
  if (got < 0) return 0;
  path[got] = 0;
  if (strncmp(path, folder, strlen(folder)) != 0) return 0;
  errno = ENOSPC;
  return 1;
}
int statfs(const char *path, struct statfs *out) {
  REAL(statfs);
  int result = real(path, out);
  if (result == 0 && state != NULL && state[1] > 0) out->f_bavail = out->f_bfree = 0;
  return result;
}
int statfs64(const char *path, struct statfs64 *out) {
  REAL(statfs64);
  int result = real(path, out);
  if (result == 0 && state != NULL && state[1] > 0) out->f_bavail = out->f_bfree = 0;
  return result;
}
static size_t total(const struct iovec *data, int parts) {
  size_t bytes = 0;
  for (int i = 0; i < parts; i++) bytes += data[i].iov_len;
  return bytes;
}

ssize_t write(int file, const void *bytes, size_t length) {
  REAL(write);
  return refused(file, -1, length) ? -1 : real(file, bytes, length);
}
ssize_t writev(int file, const struct iovec *data, int parts) {
  REAL(writev);
  return refused(file, -1, total(data, parts)) ? -1 : real(file, data, parts);
}
ssize_t pwrite(int file, const void *bytes, size_t length, off_t position) {
  REAL(pwrite);
  return refused(file, position, length) ? -1 : real(file, bytes, length, position);
}
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t position) {
  REAL(pwrite64);
  return refused(file, position, length) ? -1 : real(file, bytes, length, position);
}
ssize_t pwritev(int file, const struct iovec *data, int parts, off_t position) {
  REAL(pwritev);
  return refused(file, position, total(data, parts)) ? -1 : real(file, data, parts, position);
}
ssize_t pwritev64(int file, const struct iovec *data, int parts, off64_t position) {
  REAL(pwritev64);
  return refused(file, position, total(data, parts)) ? -1 : real(file, data, parts, position);
}

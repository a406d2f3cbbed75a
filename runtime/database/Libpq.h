//===- Libpq.h - PostgreSQL's client library, found at run time -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the functions of libpq that are used, with the types of its header: its
// ABI is that of libpq.so.5 since 2002.
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_DATABASE_LIBPQ_H
#define KBRT_DATABASE_LIBPQ_H

#include <string>

namespace kbrt::pq {

struct Connection;
struct Result;
struct Notification {
  char *channel;
  int process;
  char *payload;
  Notification *next;
};
struct Option {
  char *keyword, *environment, *compiled, *value, *label, *display;
  int size;
};

/// Values of ConnStatusType and ExecStatusType.
constexpr int connectionOk = 0, commandOk = 1, tuplesOk = 2;
/// Of PQresultErrorField: the SQLSTATE.
constexpr int stateField = 'C';

struct Library {
  Connection *(*connect)(const char *const *keywords, const char *const *values, int expand);
  int (*status)(const Connection *);
  char *(*errorMessage)(const Connection *);
  void (*finish)(Connection *);
  int (*socket)(const Connection *);
  int (*setNonBlocking)(Connection *, int);
  int (*sendQuery)(Connection *, const char *);
  int (*sendQueryParams)(Connection *, const char *, int, const unsigned *, const char *const *,
                         const int *, const int *, int);
  int (*flush)(Connection *);
  int (*consumeInput)(Connection *);
  int (*isBusy)(Connection *);
  Result *(*getResult)(Connection *);
  int (*resultStatus)(const Result *);
  char *(*resultErrorField)(const Result *, int);
  char *(*resultErrorMessage)(const Result *);
  int (*rows)(const Result *);
  int (*columns)(const Result *);
  int (*isNull)(const Result *, int, int);
  int (*length)(const Result *, int, int);
  char *(*value)(const Result *, int, int);
  void (*clear)(Result *);
  Notification *(*notifies)(Connection *);
  void (*freeMemory)(void *);
  Option *(*parse)(const char *, char **);
  void (*freeOptions)(Option *);

  /// Null where there is none, with \p error.
  static const Library *get(std::string &error);
};

} // namespace kbrt::pq

#endif // KBRT_DATABASE_LIBPQ_H

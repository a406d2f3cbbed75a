//===- Libpq.cpp ----------------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "Libpq.h"
#include <dlfcn.h>

namespace kbrt::pq {

/// The version of the ABI that Libpq.h has; a package for users has no file without a version.
static constexpr const char *fileName = "libpq.so.5";

const Library *Library::get(std::string &error) {
  static std::string why;
  static const Library *library = []() -> const Library * {
    void *file = dlopen(fileName, RTLD_NOW | RTLD_LOCAL);
    if (!file) {
      why = std::string("cannot load PostgreSQL's client library: ") + dlerror();
      return nullptr;
    }
    static Library table;
    auto load = [&](const char *symbol, auto &member) {
      member = reinterpret_cast<std::remove_reference_t<decltype(member)>>(dlsym(file, symbol));
      if (!member && why.empty())
        why = std::string(fileName) + " has no " + symbol;
    };
    load("PQconnectdbParams", table.connect);
    load("PQstatus", table.status);
    load("PQerrorMessage", table.errorMessage);
    load("PQfinish", table.finish);
    load("PQsocket", table.socket);
    load("PQsetnonblocking", table.setNonBlocking);
    load("PQsendQuery", table.sendQuery);
    load("PQsendQueryParams", table.sendQueryParams);
    load("PQflush", table.flush);
    load("PQconsumeInput", table.consumeInput);
    load("PQisBusy", table.isBusy);
    load("PQgetResult", table.getResult);
    load("PQresultStatus", table.resultStatus);
    load("PQresultErrorField", table.resultErrorField);
    load("PQresultErrorMessage", table.resultErrorMessage);
    load("PQntuples", table.rows);
    load("PQnfields", table.columns);
    load("PQgetisnull", table.isNull);
    load("PQgetlength", table.length);
    load("PQgetvalue", table.value);
    load("PQclear", table.clear);
    load("PQnotifies", table.notifies);
    load("PQfreemem", table.freeMemory);
    load("PQconninfoParse", table.parse);
    load("PQconninfoFree", table.freeOptions);
    return why.empty() ? &table : nullptr;
  }();
  error = why;
  return library;
}

} // namespace kbrt::pq

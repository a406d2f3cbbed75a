//===- DatabaseSchema.h - The tables of a kb-opt database -------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the tables and their numbered migrations: all lie in the database's schema
// "kbopt" (docs/Cluster.md lists them).
//
//===----------------------------------------------------------------------===//
#ifndef KBRT_DATABASESCHEMA_H
#define KBRT_DATABASESCHEMA_H

#include "kbrt/Database.h"
#include <string>
#include <vector>

namespace kbrt {

/// The version of the schema that this kb-opt reads and writes.
unsigned databaseSchemaVersion();

/// Brings the tables to that version; nothing changes where they have it. Several may do so at
/// once. The roles kbopt_worker and kbopt_search get their rights where they exist; \p notes says
/// what an administrator has to do where this user may not make them. A newer database is refused.
bool migrateDatabase(Database &database, std::vector<std::string> &notes, DatabaseFailure &failure);

/// Whether the tables have that version; if not, \p failure names both and what to do.
bool checkDatabaseSchema(Database &database, DatabaseFailure &failure);

} // namespace kbrt

#endif // KBRT_DATABASESCHEMA_H

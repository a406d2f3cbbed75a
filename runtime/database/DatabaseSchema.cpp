//===- DatabaseSchema.cpp -------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kbrt/DatabaseSchema.h"
#include "Migrations.h"
#include <cstdlib>
#include <iterator>

namespace kbrt {

/// Of the lock that one migration holds: "kbop" as a number.
static constexpr const char *lockKey = "1801613168";

unsigned databaseSchemaVersion() { return std::size(migrations); }

/// 0 where the database has no tables of kb-opt.
static std::optional<unsigned> versionOf(Database &database, DatabaseFailure &failure) {
  auto exists = database.run("SELECT to_regclass('kbopt.version')::text", {}, failure);
  if (!exists)
    return std::nullopt;
  if (!exists->front().front())
    return 0;
  auto version = database.run("SELECT number::text FROM kbopt.version", {}, failure);
  if (!version)
    return std::nullopt;
  return version->empty() ? 0 : std::atoi(version->front().front().value_or("0").c_str());
}

static DatabaseFailure newer(unsigned version) {
  return {false,
          "the database was made by a newer kb-opt: its schema has version " +
              std::to_string(version) + ", and this kb-opt knows versions up to " +
              std::to_string(databaseSchemaVersion()),
          "use the newer kb-opt"};
}

/// The statements of one transaction, which others wait for.
static std::string alone(const std::string &statements) {
  return "BEGIN; SELECT pg_advisory_xact_lock(" + std::string(lockKey) + ");" + statements +
         "COMMIT;";
}

static bool runAlone(Database &database, const std::string &statements, DatabaseFailure &failure) {
  if (database.run(alone(statements), {}, failure))
    return true;
  DatabaseFailure ignored;
  database.run("ROLLBACK", {}, ignored);
  return false;
}

/// The second of two finds the table with the version, and fails without a change.
static std::string stepTo(unsigned version) {
  std::string text;
  if (version == 1)
    text += "CREATE SCHEMA IF NOT EXISTS kbopt;"
            "CREATE TABLE kbopt.version (number integer NOT NULL);"
            "INSERT INTO kbopt.version VALUES (0);";
  text += "DO $$ BEGIN UPDATE kbopt.version SET number = " + std::to_string(version) +
          " WHERE number = " + std::to_string(version - 1) +
          "; IF NOT FOUND THEN RAISE 'another process migrates this database'; END IF; END $$;";
  return text + migrations[version - 1];
}

bool migrateDatabase(Database &database, std::vector<std::string> &notes,
                     DatabaseFailure &failure) {
  for (const char *role : {"kbopt_worker", "kbopt_search"}) {
    auto known =
        database.run("SELECT rolname::text FROM pg_roles WHERE rolname = $1", {role}, failure);
    if (!known)
      return false;
    DatabaseFailure refused;
    if (known->empty() && !database.run("CREATE ROLE " + std::string(role), {}, refused))
      notes.push_back("this user may not make the role " + std::string(role) + " (" +
                      refused.message + "): let an administrator run CREATE ROLE " + role +
                      ", then run this command again");
  }
  std::optional<unsigned> version = versionOf(database, failure);
  while (version && *version < databaseSchemaVersion()) {
    const unsigned before = *version;
    if (!runAlone(database, stepTo(before + 1), failure)) {
      DatabaseFailure ignored;
      version = versionOf(database, ignored); // another process may have done it
      if (!version || *version == before)
        return false;
      continue;
    }
    version = before + 1;
  }
  if (version && *version > databaseSchemaVersion())
    failure = newer(*version);
  return version == databaseSchemaVersion() && runAlone(database, grants, failure);
}

bool checkDatabaseSchema(Database &database, DatabaseFailure &failure) {
  std::optional<unsigned> version = versionOf(database, failure);
  if (!version)
    return false;
  if (*version > databaseSchemaVersion())
    failure = newer(*version);
  else if (*version < databaseSchemaVersion())
    failure = {false,
               *version == 0 ? "the database has no tables of kb-opt"
                             : "the database's schema has version " + std::to_string(*version) +
                                   ", and this kb-opt needs version " +
                                   std::to_string(databaseSchemaVersion()),
               "run 'kb-opt cluster init' with its address"};
  return *version == databaseSchemaVersion();
}

} // namespace kbrt

//===- DatabaseTest.cpp - What needs no server ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// What needs one is tested by test/cluster.
//
//===----------------------------------------------------------------------===//
#include "kbrt/Database.h"
#include "kb-opt/Store/Journal.h"
#include "kb-opt/Support/Error.h"
#include "gtest/gtest.h"

using namespace kbrt;

namespace {

TEST(DatabaseTest, IsNamedByItsAddress) {
  EXPECT_TRUE(isDatabaseUrl("postgresql://host/name"));
  EXPECT_TRUE(isDatabaseUrl("postgres:///name"));
  EXPECT_FALSE(isDatabaseUrl("/home/me/postgresql"));
  EXPECT_FALSE(isDatabaseUrl("sqlite://file"));
}

/// Null where libpq is not installed.
const char *fault(const std::string &url, DatabaseFailure &failure) {
  if (checkDatabaseUrl(url, failure))
    return "";
  return failure.message.find("cannot load") == 0 ? nullptr : failure.message.c_str();
}

TEST(DatabaseTest, AddressesHaveNoPasswords) {
  DatabaseFailure failure;
  const char *said = fault("postgresql://me@host/name?sslmode=verify-full", failure);
  if (!said)
    GTEST_SKIP() << failure.message;
  EXPECT_STREQ(said, "");
  for (const char *url : {"postgresql://me:secret@host/name", "postgresql://host/name?password=x",
                          "postgresql://me:%73@host/name"}) {
    EXPECT_STREQ(fault(url, failure), "the address of the database contains a password");
    EXPECT_NE(failure.note.find("~/.pgpass"), std::string::npos);
  }
  EXPECT_EQ(std::string(fault("postgresql://[::1/name", failure))
                .find("cannot read the address of the database: "),
            0u);
}

TEST(DatabaseTest, UnreachableServersAreOutages) {
  DatabaseFailure failure;
  Database database("postgresql://127.0.0.1:1/name");
  EXPECT_FALSE(database.run("SELECT 1::text", {}, failure).has_value());
  if (failure.message.find("cannot load") == 0)
    GTEST_SKIP() << failure.message;
  EXPECT_TRUE(failure.isOutage) << failure.message;
  unsigned attempts = 0;
  EXPECT_FALSE(database.runPatiently(
      "SELECT 1::text", {},
      [&](const DatabaseFailure &, double seconds) { return seconds >= 0 && ++attempts < 3; },
      failure));
  EXPECT_EQ(attempts, 3u);
  auto journal = kbopt::Journal::open("postgresql://127.0.0.1:1/name");
  ASSERT_FALSE(static_cast<bool>(journal));
  EXPECT_EQ(llvm::toString(journal.takeError())
                .find("journal in database 'postgresql://127.0.0.1:1/name': cannot connect"),
            0u);
}

} // namespace

#include "quasar/base/secrets.hpp"

#include <gtest/gtest.h>

namespace quasar {
namespace {

TEST(Secrets, PasswordsInAddresses) {
  EXPECT_EQ(without_password("postgresql://me:secret@host:5432/db"), "postgresql://me:***@host:5432/db");
  EXPECT_EQ(without_password("postgresql://me:se@cr/et@host/db"), "postgresql://me:***@host/db");
  EXPECT_EQ(without_password("cannot open postgresql://me:secret@host/db: gone, 'postgresql://you:hush@host'"),
            "cannot open postgresql://me:***@host/db: gone, 'postgresql://you:***@host'");
  EXPECT_EQ(without_password("postgresql://host/db?user=me&password=secret&x=1"),
            "postgresql://host/db?user=me&password=***&x=1");
  for (const char* plain : {"postgresql://me@host:5432/db", "sqlite:///a/b.db", "a:b@c", "http://host:80/a", "", "://", "x://:@"})
    EXPECT_EQ(without_password(plain).find("secret"), std::string::npos);
  EXPECT_EQ(without_password("postgresql://me@host:5432/db"), "postgresql://me@host:5432/db");
  EXPECT_EQ(without_login("postgresql://me:secret@host/db"), "postgresql://me@host/db");
}

TEST(Secrets, PasswordsThatAreNotEncoded) {
  for (const char* secret : {"pa'ssSECRET", "pa\"ssSECRET", "pa ssSECRET", "p@a'ssSECRET", "pa/s:sSECRET"}) {
    const std::string address = std::string("postgresql://me:") + secret + "@host:5432/db";
    EXPECT_EQ(without_password(address), "postgresql://me:***@host:5432/db");
    EXPECT_EQ(without_login(address), "postgresql://me@host:5432/db");
  }
  EXPECT_EQ(without_password("cannot open postgresql://me:pa'ssSECRET@host/db: gone").find("SECRET"), std::string::npos);
  for (const char* name : {"password", "passwor%64", "%70assword"}) {
    const std::string address = std::string("postgresql://host/db?user=me&") + name + "=pa'ss SECRET&x=1";
    EXPECT_EQ(without_password(address), "postgresql://host/db?user=me&password=***&x=1") << name;
  }
  EXPECT_EQ(without_password("postgresql://me@host:5432/d@b"), "postgresql://me@host:5432/d@b");
}

TEST(Secrets, InConfigurations) {
  const Json words{{"storage", "postgresql://me:secret@host/db"},
                   {"list", {"mysql://me:secret@host/db", 1, nullptr}},
                   {"kwargs", {{"sigopt_api_token", "secret"}, {"password", 5}, {"name", "me"}}}};
  const Json out = without_secrets(words);
  EXPECT_EQ(out.dump().find("secret"), std::string::npos);
  EXPECT_EQ(out["kwargs"]["password"], "***");
  EXPECT_EQ(out["kwargs"]["name"], "me");
  EXPECT_EQ(out["list"][1], 1);
}

}  // namespace
}  // namespace quasar

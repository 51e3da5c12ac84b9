// QUASAR_API: what libquasar shows. Everything else is hidden, and may change from one version to the next.
#pragma once

#define QUASAR_API __attribute__((visibility("default")))

// Stands for OpenLDAP's library in wheels. libpq looks up services in LDAP directories by it, which nobody who searches needs;
// the real one would bring twelve libraries of 3 MB. ldap_init() gives nothing, upon which libpq says so; the rest is never
// called.
#include <stddef.h>

#define NEVER_CALLED(name) \
  int name(void);          \
  int name(void) {         \
    return -1;             \
  }

void* ldap_init(const char* host, int port);
void* ldap_init(const char* host, int port) {
  (void)host, (void)port;
  return NULL;
}
NEVER_CALLED(ldap_count_entries)
NEVER_CALLED(ldap_err2string)
NEVER_CALLED(ldap_first_entry)
NEVER_CALLED(ldap_get_values_len)
NEVER_CALLED(ldap_msgfree)
NEVER_CALLED(ldap_result)
NEVER_CALLED(ldap_search_st)
NEVER_CALLED(ldap_set_option)
NEVER_CALLED(ldap_simple_bind)
NEVER_CALLED(ldap_unbind)
NEVER_CALLED(ldap_value_free_len)

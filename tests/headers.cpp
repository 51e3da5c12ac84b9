// Only its precompiled headers are used, by all tests.
int main() {}

# places.cmake - where the project lives: the only file that says it. Names that end in .invalid are placeholders (RFC 2606): nothing is there.
# The package's metadata read this file; README and docs/security.md repeat it, and docs.places holds them to it.
set(RW_HOME_URL "https://rocewatch.invalid")
set(RW_SOURCE_URL "https://git.rocewatch.invalid/rocewatch") # repository and issues
set(RW_SECURITY_CONTACT "security@rocewatch.invalid")
set(RW_MAINTAINERS "rocewatch maintainers <maintainers@rocewatch.invalid>")

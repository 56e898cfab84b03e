#!/bin/sh
# Makes configure and the Makefile templates from a fresh checkout.
set -e
cd "$(dirname "$0")"
exec autoreconf --install --warnings=all,no-portability,no-obsolete

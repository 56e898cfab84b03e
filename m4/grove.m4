# Macros of Grove's own.

# GROVE_COMPILER_FLAGS(VARIABLE, FLAGS): appends those of FLAGS that the current language's compiler
# accepts. -Werror is used for this test only: in CFLAGS it would break configure's other tests.
AC_DEFUN([GROVE_COMPILER_FLAGS],
[for grove_flag in $2; do
  AC_MSG_CHECKING([whether the _AC_LANG compiler accepts $grove_flag])
  grove_save_flags="$_AC_LANG_PREFIX[]FLAGS"
  _AC_LANG_PREFIX[]FLAGS="$grove_save_flags -Werror $grove_flag"
  AC_COMPILE_IFELSE([AC_LANG_SOURCE([int grove_nothing;])],
    [AC_MSG_RESULT([yes])
     $1="$$1 $grove_flag"],
    [AC_MSG_RESULT([no])])
  _AC_LANG_PREFIX[]FLAGS="$grove_save_flags"
done])

# GROVE_WITH(VARIABLE, NAME, TEXT): the option --with-NAME=auto|yes|no; sets with_NAME.
AC_DEFUN([GROVE_WITH],
[AC_ARG_WITH([$2],
  [AS_HELP_STRING([--with-$2=auto|yes|no], [$3 @<:@auto@:>@])],
  [AS_CASE([$withval], [auto|yes|no], [],
    [AC_MSG_ERROR([--with-$2=$withval: it can be auto, yes or no])])],
  [with_$2=auto])])

# GROVE_FOUND(VARIABLE, NAME, FOUND, PACKAGE): settles with_NAME from FOUND (yes or no): defines
# HAVE_VARIABLE and the Automake conditional of that name, or stops when yes was asked for.
AC_DEFUN([GROVE_FOUND],
[AS_IF([test "x$with_$2" = xyes && test "x$3" != xyes],
  [AC_MSG_ERROR([--with-$2=yes, but $2 was not found; on Debian: apt-get install $4])])
AS_IF([test "x$with_$2" = xno], [have_$2=no], [have_$2=$3])
AS_IF([test "x$have_$2" = xyes],
  [AC_DEFINE([HAVE_$1], [1], [Define to 1 when $2 is used.])])
AM_CONDITIONAL([HAVE_$1], [test "x$have_$2" = xyes])])

# GROVE_ENABLE(NAME, TEXT): the option --enable-NAME, default no; sets enable_NAME.
AC_DEFUN([GROVE_ENABLE],
[AC_ARG_ENABLE([$1], [AS_HELP_STRING([--enable-$1], [$2])], [], [enable_$1=no])])

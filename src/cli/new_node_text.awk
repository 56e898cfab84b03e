# Makes new_node_text.h of the files of examples/ that `grove new-node` writes: a list of lines each.
BEGIN { print "/* Made by new_node_text.awk from the files of examples/. */" }

FNR == 1 {
    if (count++)
        print "    NULL};"
    name[count] = FILENAME
    sub(/^.*examples\//, "", name[count])
    printf "static const char *const text_%d[] = {\n", count
}

{
    gsub(/\\/, "&&")
    gsub(/"/, "\\\\&")
    printf "    \"%s\\n\",\n", $0
}

END {
    print "    NULL};"
    print "static const struct {\n    const char *path; /* below examples/ */\n    const char *const *lines;\n} texts[] = {"
    for (k = 1; k <= count; k++)
        printf "    {\"%s\", text_%d},\n", name[k], k
    print "};"
}

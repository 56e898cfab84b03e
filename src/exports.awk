# The functions and constants that headers declare, one in a line: what libgrove exports.
{
    line = $0
    code = ""
    while (line != "") {
        at = index(line, comment ? "*/" : "/*")
        if (!comment)
            code = code (at ? substr(line, 1, at - 1) : line)
        line = at ? substr(line, at + 2) : ""
        if (at)
            comment = !comment
    }
    if (code ~ /^extern const/)
        gsub(/[;,]/, "(", code)
    while (match(code, /grove_[a-z0-9_]+\(/)) {
        print substr(code, RSTART, RLENGTH - 1)
        code = substr(code, RSTART + RLENGTH)
    }
}

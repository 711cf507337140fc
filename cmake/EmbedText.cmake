# Writes a C++ source that defines a text file's content:
#
#   cmake -DFILE=file.html -DSYMBOL=kText -DDECLARED_IN=file.h -DOUT=file.cpp -P EmbedText.cmake
#
# SYMBOL is a std::string_view in the namespace wick, which DECLARED_IN declares.
file(READ ${FILE} text)
if(text MATCHES "\\)wick\"")
  message(FATAL_ERROR "${FILE}: )wick\" ends the text that it is embedded as")
endif()
file(WRITE ${OUT} "// Made by cmake/EmbedText.cmake.
#include \"${DECLARED_IN}\"

namespace wick {

const std::string_view ${SYMBOL} = R\"wick(${text})wick\";

}  // namespace wick
")

# A header and all of ours that it includes, as one text in a C++ file. Run by a build, not included:
#
#   cmake -DHEADER=file.h -DFOLDERS=include;src -DSYMBOL=kText -DDECLARED_IN=file.h -DOUT=file.cpp -P EmbedHeaders.cmake
#     HEADER       as an #include names it; FOLDERS are where #include "..." looks
#     SYMBOL       of namespace wick, declared by DECLARED_IN as `extern const char SYMBOL[]`
#     OUT          is written, and OUT.d, which names the headers, for DEPFILE
#
# Each header stands there once, after those that it includes, which must all come before its code; what is included as
# <...> stays. #line keeps the compiler's complaints true.

cmake_minimum_required(VERSION 3.25)

set(text "")
set(depends "")

function(embed name)
  set(file "")
  foreach(folder IN LISTS FOLDERS)
    if(NOT file AND EXISTS ${folder}/${name})
      set(file ${folder}/${name})
    endif()
  endforeach()
  if(NOT file)
    message(FATAL_ERROR "${name}: in none of ${FOLDERS}")
  endif()
  if(file IN_LIST depends)
    return()
  endif()
  set(depends "${depends};${file}" PARENT_SCOPE)
  list(APPEND depends ${file})

  file(READ ${file} content)
  string(FIND "${content}" ")wick\"" delimiter)
  if(NOT delimiter EQUAL -1)
    message(FATAL_ERROR "${file}: )wick\" ends the text that it is embedded as")
  endif()
  string(REGEX MATCHALL "\n#include \"[^\"\n]+\"" includes "\n${content}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^\n#include \"(.*)\"$" "\\1" include "${include}")
    embed(${include})
  endforeach()
  # Their lines stay, so that the others keep their numbers.
  string(REGEX REPLACE "\n#(include \"[^\"\n]+\"|pragma once)" "\n" content "\n${content}")
  set(text "${text}R\"wick(#line 1 \"${name}\"${content})wick\"\n" PARENT_SCOPE)
  set(depends "${depends}" PARENT_SCOPE)
endfunction()

embed(${HEADER})
file(WRITE ${OUT} "// Made by cmake/EmbedHeaders.cmake.
#include \"${DECLARED_IN}\"

namespace wick {

const char ${SYMBOL}[] =
${text};

}  // namespace wick
")
list(JOIN depends " " depends)
file(WRITE ${OUT}.d "${OUT}: ${depends}\n")

# A header and all of ours that it includes, as one text in a C++ file. Run by a build, not included:
#
#   cmake -DHEADER=file.h -DFOLDERS=include;src -DSYMBOL=kText -DDECLARED_IN=file.h -DOUT=file.cpp -P EmbedHeaders.cmake
#     HEADER       as an #include names it; FOLDERS are where #include "..." looks
#     SYMBOL       of namespace wick, declared by DECLARED_IN as `extern const char SYMBOL[]`
#     CARDS        the folder of scalar/, whose functions of cards are embedded too; else those of the host alone
#     OUT          is written, and OUT.d, which names the headers, for DEPFILE
#
# Each header stands there once, after those that it includes, which must all come before its code. #line keeps the compiler's complaints true.

cmake_minimum_required(VERSION 3.25)

set(text "")
set(depends "")

macro(embed_includes content)
  string(REGEX MATCHALL "\n#include \"[^\"\n]+\"" includes "\n${content}")
  foreach(include IN LISTS includes)
    string(REGEX REPLACE "^\n#include \"(.*)\"$" "\\1" include "${include}")
    embed(${include})
  endforeach()
endmacro()

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
  # With CARDS, the functions of each compiler stand where they are included, between their conditions.
  if(CARDS AND name STREQUAL "scalar/math.h")
    foreach(own scalar/math_amd.h scalar/math_nvidia.h scalar/math_host.h)
      file(READ ${CARDS}/${own} functions)
      list(APPEND depends ${CARDS}/${own})
      embed_includes("${functions}")
      string(REGEX REPLACE "\n#(include \"[^\"\n]+\"|pragma once)" "\n" functions "\n${functions}")
      string(REGEX REPLACE "\n#include [<\"]${own}[>\"]" "\n${functions}" content "${content}")
    endforeach()
  endif()
  embed_includes("${content}")
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

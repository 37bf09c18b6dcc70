# cmake --install: library, headers, programs, models, and as2Config.cmake for find_package(as2).

"""How code is written: libcst pieces, brackets, layout, imports, and a rewrite rendered into edits of text."""

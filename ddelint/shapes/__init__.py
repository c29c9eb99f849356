"""Sizes as a contract: what a program needs of its inputs' sizes, written down, compared with what is declared."""

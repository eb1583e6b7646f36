"""CEL, the Common Expression Language, as far as conditions use it: text -> tree -> types -> one Python function.

`tokens` and `parse` read a text, `check` finds what is wrong with it before anything runs, `compile` makes a function
of it. `standard_functions` lists every operator and function with its signature; what they do is in `numbers`, `texts`,
`moments`, `patterns` and `values`.
"""

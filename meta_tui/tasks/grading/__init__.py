"""Graders, one module a family: `paper` as the published evaluator behaves, `strict` as it should.

A grader is a pure function from a sample and a whole reply (marker included) to a `Grade`. Nothing
here evaluates text as code: expressions are read into trees, and programs are handed to the
`execute` that the caller gives. The rules were fixed before any run; where published answers showed
that a rule was wrong, it was changed for its whole kind, never for a row.
"""

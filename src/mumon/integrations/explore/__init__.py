"""`mumon explore`: a local web page to look into word vectors. Needs the extra `mumon[explore]`.

`models.py` opens the vectors, `questions.py` parses and answers what is typed, `projection.py` computes maps and
`maps.py` holds them. `app.py` is the web application, `serve.py` runs it, and `static/` is the page.
"""

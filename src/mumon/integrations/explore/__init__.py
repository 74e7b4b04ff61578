"""`mumon explore`: a local page to look into word vectors.

`models.py` opens what is looked into, `questions.py` reads and answers what is typed, `projection.py` makes the maps
and `maps.py` keeps them, `app.py` is the web application and `serve.py` runs it; `static/` is the page. Needs the extra
`mumon[explore]`.
"""

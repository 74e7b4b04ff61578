"""mumon inside other programs: an estimator for scikit-learn, and the web page of `mumon explore`."""

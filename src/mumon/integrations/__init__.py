"""mumon inside other libraries: scikit-learn's estimators and the page of `mumon explore`."""

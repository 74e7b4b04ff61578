"""What `mumon.vectors.WordVectors` is made of: each file one kind of question or change, on top of `storage`."""

"""Help that every package may use and that knows nothing about word vectors.

Files: atomic, compression, file_lock, paths, strict_json, text_files. The process: memory, threads, signals,
measure_process. The user: progress, validation, gensim_names.
"""

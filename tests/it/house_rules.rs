//! Layers, lengths, dead files, paths named in documents.

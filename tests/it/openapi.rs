//! Routes, problems, currencies and examples agree with openapi.yaml.

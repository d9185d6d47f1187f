//! Malformed requests on raw sockets.

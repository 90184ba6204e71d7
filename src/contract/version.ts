// The version of the wire contract and the digest of its schemas. The digest never changes without a new version: the
// contract only grows.

/** Version of the wire contract. */
export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'd176e142cf679fdda344f7df49b9af25a26f7c680e13f046594754db39498881';

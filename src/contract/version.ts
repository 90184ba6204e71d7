// The version of the wire contract and the digest of its schemas. The digest never changes without a new version: the
// contract only grows.

/** Version of the wire contract. */
export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'efbbbe6134417e5ef17b72238c227b8f6544b0d687079ed1a3950d2271113bc0';

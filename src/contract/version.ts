// The version of the wire contract and the digest of its schemas. The digest never changes without a new version: the
// contract only grows.

/** Version of the wire contract. */
export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'fa65348fddde1321875487408c4885fb862773962b128a80852b63c8cab7eaf9';

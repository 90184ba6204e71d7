// The version of the wire contract and the digest of its schemas. The digest never changes without a new version: the
// contract only grows.

/** Version of the wire contract. */
export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '5af76825b481e46b86801352c098128fdf5258f0bbac21a362696c3c4e80f9ec';

// The version of the wire contract and the digest of its schemas. The digest never changes without a new version: the
// contract only grows.

/** Version of the wire contract. */
export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = 'baf1fd5c85df30a72ab8bc28df75363fc29d841f1719e44adc89795395d7172f';

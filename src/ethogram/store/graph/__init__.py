"""Stores in Neo4j. All Cypher of the package is in this folder; values reach it as parameters only."""

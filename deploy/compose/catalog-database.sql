-- Run once, when the database is made: the embedded catalog keeps its data apart from the stored copy.
CREATE DATABASE catalog;
